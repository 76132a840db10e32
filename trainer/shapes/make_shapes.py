#!/usr/bin/env python3
"""Writes the shapes of well-known models beside this script, one YAML file each (docs/shapes.md has
the format).

    python3 trainer/shapes/make_shapes.py            writes all of them
    python3 trainer/shapes/make_shapes.py --check    fails if a file differs from this script's

Each function below is one architecture, as its source defines it: parameter tensors with PyTorch's
names, in the order of the forward pass, and the costs of that pass's operations for one sample.
Multiply-adds are those of convolutions and matrix products; element-wise operations, normalisation,
pooling and embeddings count as bytes read and written (4 for each number).
trainer/torch/models/observed_costs.h counts so where a model runs.
"""

import pathlib
import sys

FLOAT = 4
GOYAL = "Goyal et al.: Accurate, Large Minibatch SGD, 2017: 32 images a GPU"
TORCHVISION = "torchvision's reference scripts: 32 images a GPU"
ACCORDION = "Agarwal et al.: Accordion, MLSys 2021: 128 images a GPU"
# Usual batch of one GPU, and who trains with it.
BATCHES = {
    "alexnet": (128, "Krizhevsky 2014: 128 images"),
    "googlenet": (32, TORCHVISION),
    "googlenet-cifar": (128, ACCORDION),
    "gpt2-small": (12, "nanoGPT: 12 contexts a GPU"),
    "lstm-ptb": (20, "Zaremba et al. 2014: 20 windows"),
    "ncf": (131072, "NVIDIA's recipe: 2^20 pairs on eight GPUs"),
    "resnet18": (32, GOYAL),
    "resnet18-cifar": (128, ACCORDION),
    "resnet50": (32, GOYAL),
    "resnet101": (32, GOYAL),
    "resnet152": (32, TORCHVISION),
    "inception-v3": (32, TORCHVISION),
    "bert-base": (32, "assumed: twice that of bert-large"),
    "bert-large-squad": (32, "NVIDIA's recipe for PyTorch: 32 sequences a GPU"),
    "deit-base": (64, "Touvron et al.'s code: 64 images on each of 16 GPUs"),
    "deit-small": (256, "Touvron et al.'s code: 256 images on each of four GPUs"),
    "vit-large": (64, "torchvision's weights: 64 images on each of 16 GPUs"),
    "bert-large": (16, "NVIDIA's recipe for TensorFlow: 16 sequences of 512 tokens a GPU"),
    "gpt2-xl": (16, "llm.c's script for eight H100: 16 contexts a GPU and pass"),
    "gpt2-1b": (16, "Megatron-LM: 16 contexts a GPU"),
    "gpt2-medium": (64, "llm.c: 64 contexts a GPU"),
    "gpt2-large": (32, "llm.c: 32 contexts a GPU"),
    "sdp-1.3b": (1, "SDP4Bit's scripts: 1 context a GPU"),
    "sdp-2.7b": (1, "SDP4Bit's scripts: 1 context a GPU"),
    "zpp-18b": (2, "DeepSpeed's figures: 1,024 tokens a GPU"),
    "llama2-34b": (2, "fms-fsdp: 2 contexts a GPU"),
    "gpt2-124m": (12, "nanoGPT: 12 contexts a GPU"),
    "bert-base-all": (64, "OneFlow's benchmark: 64 sequences of 128 words a GPU"),
    "gpt-16x1536": (2, "OneFlow's benchmark of Megatron-LM: 2 contexts a GPU"),
    "gpt-12x768": (8, "OneFlow's benchmark of Megatron-LM: 8 contexts a GPU"),
    "gpt3-175b": (1, "assumed: one context a pass"),
    "llama2-7b": (2, "fms-fsdp: 2 contexts a GPU"),
    "llama2-13b": (2, "fms-fsdp: 2 contexts a GPU"),
    "llama2-70b": (2, "fms-fsdp: 2 contexts a GPU"),
    "llama3-8b": (1, "TorchTitan: 1 context of 8192 tokens a GPU"),
    "llama3-70b": (2, "TorchTitan: 16 contexts for eight GPUs"),
    "llama3-405b": (1, "assumed: one context a pass; TorchTitan: 2 for eight GPUs"),
    "mixtral-8x7b": (1, "assumed: one context a pass"),
    "mpt-1b": (12, "llm-foundry: 12 contexts of 2048 tokens a GPU"),
    "mpt-3b": (6, "llm-foundry: 6 contexts a GPU"),
    "mpt-7b": (6, "llm-foundry: 6 contexts a GPU"),
    "mpt-13b": (16, "llm-foundry: 16 contexts a GPU"),
    "mpt-30b": (8, "llm-foundry: 8 contexts a GPU"),
    "mpt-70b": (8, "llm-foundry: 8 contexts a GPU"),
    "transformer-xl": (32, "NVIDIA's recipe: 256 segments on eight GPUs"),
    "transformer-xl-all": (104, "Lambda's benchmark: 104 segments on a GPU of 80 GB"),
    "transformer-xl-large": (16, "NVIDIA's recipe: 128 segments on eight GPUs"),
    "vgg16": (64, "Simonyan, Zisserman 2015: 256 images on four GPUs"),
}


class Shape:
    def __init__(self, name, title, source, sample, note=""):
        self.header = {"name": name, "title": title, "source": source, "sample": sample}
        if note:
            self.header["note"] = note
        self.operations = []
        self.elements = 0
        self.tensors = 0
        self.multiply_adds = 0

    def add(self, kind, parameters=(), multiply_adds=0, read=0, written=0, weights=None):
        """Adds an operation that reads `read` and writes `written` numbers of one sample, and reads
        `weights` numbers once per batch; default: all parameters."""
        fields = [f"kind: {kind}"]
        if multiply_adds:
            fields.append(f"multiply_adds: {multiply_adds}")
        fields.append(f"bytes: {FLOAT * (read + written)}")
        if weights is not None:
            fields.append(f"weight_bytes: {FLOAT * weights}")
        if parameters:
            inner = ", ".join(f"{name}: {'x'.join(map(str, sizes))}" for name, sizes in parameters)
            fields.append("parameters: {" + inner + "}")
        self.operations.append("{" + ", ".join(fields) + "}")
        self.multiply_adds += multiply_adds
        for _, sizes in parameters:
            count = 1
            for size in sizes:
                count *= size
            self.elements += count
            self.tensors += 1

    def text(self):
        lines = ["# Made by make_shapes.py: change it there."]
        lines += [f'{key}: "{value}"' for key, value in self.header.items()]
        batch, source = BATCHES[self.header["name"]]
        lines += [f"batch: {batch}", f'batch_source: "{source}"']
        lines += [f"elements: {self.elements}", f"tensors: {self.tensors}",
                  f"multiply_adds: {self.multiply_adds}",
                  "operations:"]
        lines += ["  - " + operation for operation in self.operations]
        return "\n".join(lines) + "\n"


class Images(Shape):
    """Follows one image through a convolutional net: channels, and the side of a square."""

    def __init__(self, name, title, source, channels, side, note=""):
        super().__init__(name, title, source, f"one {channels}x{side}x{side} image", note)
        self.channels = channels
        self.side = side

    def size(self):
        return self.channels * self.side * self.side

    def conv(self, name, outputs, kernel, stride=1, padding=None, bias=False):
        """`kernel` is a side or, with a stride of 1, a pair of height and width."""
        height, width = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        padding = height // 2 if padding is None else padding
        read = self.size()
        weights = [outputs, self.channels, height, width]
        self.side = (self.side + 2 * padding - height) // stride + 1
        multiply_adds = height * width * self.channels * outputs * self.side * self.side
        self.channels = outputs
        parameters = [(name + ".weight", weights)] + ([(name + ".bias", [outputs])] if bias else [])
        self.add("conv", parameters, multiply_adds, read, self.size())

    def norm(self, name):
        # Training reads its input twice: for the statistics, then to normalise.
        parameters = [(name + ".weight", [self.channels]), (name + ".bias", [self.channels])]
        self.add("batchnorm", parameters, 0, 2 * self.size(), self.size())

    def relu(self):
        self.add("elementwise", read=self.size(), written=self.size())

    def join(self):
        self.add("elementwise", read=2 * self.size(), written=self.size())

    def pool(self, kernel, stride, padding=0, ceil=False):
        read = self.size()
        span = self.side + 2 * padding - kernel
        self.side = (-(-span // stride) if ceil else span // stride) + 1
        self.add("pool", read=read, written=self.size())

    def pool_to(self, side):
        read = self.size()
        self.side = side
        self.add("pool", read=read, written=self.size())

    def linear(self, name, outputs):
        inputs = self.size()
        self.channels, self.side = outputs, 1
        self.add("linear", [(name + ".weight", [outputs, inputs]), (name + ".bias", [outputs])],
                 inputs * outputs, inputs,
                 outputs)


HE = "He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition, CVPR 2016"


def residual(name, title, blocks, bottleneck, small=False, classes=1000):
    source = HE + ("; 3x3 stem without pooling, as for CIFAR-10" if small
                   else "; stride in the 3x3, names as in torchvision")
    net = Images(name, title, source, 3, 32 if small else 224)
    net.conv("conv1", 64, 3 if small else 7, 1 if small else 2)
    net.norm("bn1")
    net.relu()
    if not small:
        net.pool(3, 2, 1)
    for stage, count in enumerate(blocks):
        for block in range(count):
            residual_block(net, f"layer{stage + 1}.{block}", 64 << stage,
                           2 if stage > 0 and block == 0 else 1, bottleneck)
    net.pool_to(1)
    net.linear("fc", classes)
    return net


def residual_block(net, name, width, stride, bottleneck):
    channels, side = net.channels, net.side
    outputs = 4 * width if bottleneck else width
    layers = [(width, 1, 1), (width, 3, stride),
              (outputs, 1, 1)] if bottleneck else [(width, 3, stride), (outputs, 3, 1)]
    for i, (planes, kernel, step) in enumerate(layers):
        net.conv(f"{name}.conv{i + 1}", planes, kernel, step)
        net.norm(f"{name}.bn{i + 1}")
        if i + 1 < len(layers):
            net.relu()
    if stride != 1 or channels != outputs:
        net.channels, net.side = channels, side
        net.conv(f"{name}.downsample.0", outputs, 1, stride)
        net.norm(f"{name}.downsample.1")
    net.join()
    net.relu()


def vgg16():
    net = Images("vgg16", "VGG-16 for ImageNet",
                 "Simonyan, Zisserman: Very Deep Convolutional Networks, ICLR 2015, "
                 "configuration D; names as in torchvision", 3, 224)
    place = 0
    for width, count in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]:
        for _ in range(count):
            net.conv(f"features.{place}", width, 3, bias=True)
            net.relu()
            place += 2
        net.pool(2, 2)
        place += 1
    for layer, width in [(0, 4096), (3, 4096), (6, 1000)]:
        net.linear(f"classifier.{layer}", width)
        if layer < 6:
            net.relu()
    return net


def alexnet():
    net = Images("alexnet", "AlexNet for ImageNet",
                 "Krizhevsky: One weird trick for parallelizing convolutional neural "
                 "networks, 2014, as torchvision has it", 3, 224)
    net.conv("features.0", 64, 11, 4, 2, bias=True)
    net.relu()
    net.pool(3, 2)
    net.conv("features.3", 192, 5, bias=True)
    net.relu()
    net.pool(3, 2)
    for layer, width in [(6, 384), (8, 256), (10, 256)]:
        net.conv(f"features.{layer}", width, 3, bias=True)
        net.relu()
    net.pool(3, 2)
    for layer, width in [(1, 4096), (4, 4096), (6, 1000)]:
        net.linear(f"classifier.{layer}", width)
        if layer < 6:
            net.relu()
    return net


def branched(net, branches, add):
    """Adds parallel branches, each by add(branch), and joins what they write."""
    channels, side = net.channels, net.side
    outputs = 0
    for branch in branches:
        net.channels, net.side = channels, side
        add(branch)
        outputs += net.channels
    net.channels = outputs
    net.relu()  # joining the branches reads and writes each number once


def inception(net, branches):
    """Adds parallel branches, each a list of consecutive (convolution, norm, width, kernel, bias);
    a pooling precedes the last branch."""

    def add(branch):
        if branch is branches[-1]:
            net.pool(3, 1, 1)
        for convolution, norm, width, kernel, bias in branch:
            net.conv(convolution, width, kernel, bias=bias)
            net.norm(norm)
            net.relu()

    branched(net, branches, add)


INCEPTIONS = [("a3", 64, 96, 128, 16, 32, 32), ("b3", 128, 128, 192, 32, 96, 64),
              ("a4", 192, 96, 208, 16, 48, 64), ("b4", 160, 112, 224, 24, 64, 64),
              ("c4", 128, 128, 256, 24, 64, 64), ("d4", 112, 144, 288, 32, 64, 64),
              ("e4", 256, 160, 320, 32, 128, 128), ("a5", 256, 160, 320, 32, 128, 128),
              ("b5", 384, 192, 384, 48, 128, 128)]
SZEGEDY = "Szegedy et al.: Going Deeper with Convolutions, CVPR 2015"


def googlenet():
    net = Images("googlenet",
                 "GoogLeNet for ImageNet, with batch norm, without auxiliary classifiers",
                 SZEGEDY + "; 3x3 in the place of 5x5, names as in torchvision", 3, 224)

    def basic(name, width, kernel, stride=1):
        net.conv(name + ".conv", width, kernel, stride)
        net.norm(name + ".bn")
        net.relu()

    basic("conv1", 64, 7, 2)
    net.pool(3, 2, ceil=True)
    basic("conv2", 64, 1)
    basic("conv3", 192, 3)
    net.pool(3, 2, ceil=True)
    for block, one, reduce3, three, reduce5, five, pooled in INCEPTIONS:
        if block == "a4":
            net.pool(3, 2, ceil=True)
        if block == "a5":
            net.pool(2, 2)
        name = f"inception{block[1]}{block[0]}."

        def layer(at, width, kernel):
            return (name + at + ".conv", name + at + ".bn", width, kernel, False)

        inception(net, [[layer("branch1", one, 1)],
                        [layer("branch2.0", reduce3, 1), layer("branch2.1", three, 3)],
                        [layer("branch3.0", reduce5, 1), layer("branch3.1", five, 3)],
                        [layer("branch4.1", pooled, 1)]])
    net.pool_to(1)
    net.linear("fc", 1000)
    return net


def googlenet_cifar():
    net = Images("googlenet-cifar", "GoogLeNet for CIFAR-10, convolutions with bias",
                 SZEGEDY + "; two 3x3 in the place of 5x5, as the CIFAR-10 nets of Accordion and "
                 "LEGACY", 3, 32)
    net.conv("pre_layers.0", 192, 3, bias=True)
    net.norm("pre_layers.1")
    net.relu()
    for block, one, reduce3, three, reduce5, five, pooled in INCEPTIONS:
        if block in ("a4", "a5"):
            net.pool(3, 2, 1)

        def layer(at, width, kernel):
            branch, place = at.split(".")
            return (f"{block}.{at}", f"{block}.{branch}.{int(place) + 1}", width, kernel, True)

        inception(net, [[layer("b1.0", one, 1)],
                        [layer("b2.0", reduce3, 1), layer("b2.3", three, 3)],
                        [layer("b3.0", reduce5, 1), layer("b3.3", five, 3), layer("b3.6", five, 3)],
                        [layer("b4.1", pooled, 1)]])
    net.pool_to(1)
    net.linear("linear", 10)
    return net


def inception_blocks():
    """Returns the blocks of Inception-v3 by torchvision's names: parallel branches of convolutions
    (name, width, kernel, stride), poolings (their stride) and, where a branch divides, branches."""

    def tower(name, *layers):
        return [(f"{name}_{i + 1}", *layer) for i, layer in enumerate(layers)]

    blocks = []
    for block, pooled in [("5b", 32), ("5c", 64), ("5d", 64)]:
        blocks.append((block, [[("branch1x1", 64, 1)], tower("branch5x5", (48, 1), (64, 5)),
                               tower("branch3x3dbl", (64, 1), (96, 3), (96, 3)),
                               [1, ("branch_pool", pooled, 1)]]))
    blocks.append(("6a", [[("branch3x3", 384, 3, 2)],
                          tower("branch3x3dbl", (64, 1), (96, 3), (96, 3, 2)), [2]]))
    high, wide = (7, 1), (1, 7)
    for block, width in [("6b", 128), ("6c", 160), ("6d", 160), ("6e", 192)]:
        blocks.append((block, [[("branch1x1", 192, 1)],
                               tower("branch7x7", (width, 1), (width, wide), (192, high)),
                               tower("branch7x7dbl", (width, 1), (width, high), (width, wide),
                                     (width, high), (192, wide)),
                               [1, ("branch_pool", 192, 1)]]))
    blocks.append(("7a", [tower("branch3x3", (192, 1), (320, 3, 2)),
                          tower("branch7x7x3", (192, 1), (192, wide), (192, high), (192, 3, 2)),
                          [2]]))

    def halves(name):
        return [[(name + "a", 384, (1, 3))], [(name + "b", 384, (3, 1))]]

    for block in ["7b", "7c"]:
        blocks.append((block, [[("branch1x1", 320, 1)],
                               tower("branch3x3", (384, 1)) + [halves("branch3x3_2")],
                               tower("branch3x3dbl", (448, 1), (384, 3)) +
                               [halves("branch3x3dbl_3")],
                               [1, ("branch_pool", 192, 1)]]))
    return blocks


def inception_v3():
    net = Images("inception-v3", "Inception-v3 for ImageNet, without the auxiliary classifier",
                 "Szegedy et al.: Rethinking the Inception Architecture, CVPR 2016; names as in "
                 "torchvision", 3, 299)

    def basic(name, width, kernel, stride=1, padding=None):
        net.conv(name + ".conv", width, kernel, stride, padding)
        net.norm(name + ".bn")
        net.relu()

    basic("Conv2d_1a_3x3", 32, 3, 2, 0)
    basic("Conv2d_2a_3x3", 32, 3, 1, 0)
    basic("Conv2d_2b_3x3", 64, 3)
    net.pool(3, 2)
    basic("Conv2d_3b_1x1", 80, 1)
    basic("Conv2d_4a_3x3", 192, 3, 1, 0)
    net.pool(3, 2)
    for block, branches in inception_blocks():

        def add(branch):
            for layer in branch:
                if isinstance(layer, int):
                    net.pool(3, layer, 1 if layer == 1 else 0)
                elif isinstance(layer, list):
                    branched(net, layer, add)
                else:
                    name, width, kernel, stride = (*layer, 1)[:4]
                    basic(f"Mixed_{block}.{name}", width, kernel, stride,
                          0 if stride == 2 else None)

        branched(net, branches, add)
    net.pool_to(1)
    net.linear("fc", 1000)
    return net


def lstm_ptb():
    words, hidden, window = 10000, 1500, 35
    net = Shape("lstm-ptb", "LSTM of 2 layers of 1500 for Penn Treebank, untied",
                "Zaremba, Sutskever, Vinyals: Recurrent Neural Network Regularization, 2014, large "
                "model; names as in PyTorch's word_language_model", f"one window of {window} words",
                "the recurrent matrix is read again at each of the 35 words")
    net.add("elementwise", [("encoder.weight", [words, hidden])], 0, window * hidden,
            window * hidden)
    for layer in range(2):
        gates = 4 * hidden
        square = gates * hidden
        parameters = [(f"rnn.weight_ih_l{layer}", [gates, hidden]),
                      (f"rnn.weight_hh_l{layer}", [gates, hidden]),
                      (f"rnn.bias_ih_l{layer}", [gates]), (f"rnn.bias_hh_l{layer}", [gates])]
        # The gradients of all four are complete once the backward pass has gone through all words:
        # with the first product.
        net.add("linear", parameters, window * square, window * hidden, window * gates,
                square + 2 * gates)
        net.add("linear", [], window * square, window * hidden, window * gates, window * square)
        net.add("elementwise", [], 0, window * (2 * gates + hidden), window * 2 * hidden)
    net.add("linear", [("decoder.weight", [words, hidden]), ("decoder.bias", [words])],
            window * words * hidden, window * hidden, window * words)
    net.add("loss", [], 0, window * words, window * words)
    return net


def linear(net, name, inputs, outputs, rows, bias=True, transposed=False):
    sizes = [inputs, outputs] if transposed else [outputs, inputs]
    parameters = [(name + ".weight", sizes)] + ([(name + ".bias", [outputs])] if bias else [])
    net.add("linear", parameters, rows * inputs * outputs, rows * inputs, rows * outputs)


def layer_norm(net, name, width, rows):
    net.add("batchnorm", [(name + ".weight", [width]), (name + ".bias", [width])], 0,
            2 * rows * width, rows * width)


def elementwise(net, inputs, outputs):
    net.add("elementwise", [], 0, inputs, outputs)


def transformer_xl(name, title, layers, width, heads, inner, target, divisor=1, dropped=False,
                   adaptive=True):
    """Words after each cut of the vocabulary have 1 / divisor of the numbers of those before it;
    without `adaptive` there are no cuts. `dropped` says that attention drops scores."""
    memory = target
    keys = target + memory
    cuts = [19997, 39997, 199997, 267735] if adaptive else [267735]
    clusters = len(cuts) - 1
    tables = [cuts[-1]] if divisor == 1 else [end - begin for begin, end in zip([0] + cuts, cuts)]
    widths = [width // divisor**i for i in range(len(tables))]
    divided = "" if divisor == 1 else f" of {', '.join(map(str, widths))} numbers a word"
    shortlist = "" if divisor == 1 else "; the product of the embedding, as if all words were of it"
    softmax = "adaptive softmax at 19997, 39997, 199997" if adaptive else "softmax of all words"
    tails = (f"of the adaptive softmax only the head is counted{shortlist}: which words need the "
             "tails depends on the text; ") if adaptive else ""
    net = Shape(name, title,
                f"Dai et al.: Transformer-XL, ACL 2019; sizes of NVIDIA's recipe ({layers} layers, "
                f"{width}, {heads} heads of 64, {inner}, {softmax}{divided}), names of its PyTorch "
                "code",
                f"one segment of {target} words, with a memory of {memory}",
                f"{tails}the product of the relative positions, one for the whole batch, counts as "
                "bytes")
    parameters = [("r_w_bias", [heads, 64]), ("r_r_bias", [heads, 64])]
    parameters += [(f"word_emb.emb_layers.{i}.weight", [words, widths[i]])
                   for i, words in enumerate(tables)]
    net.add("elementwise", parameters, 0, target * width, target * width)
    if divisor > 1:
        net.add("linear", [(f"word_emb.emb_projs.{i}", [width, inputs])
                           for i, inputs in enumerate(widths)], target * width * width,
                target * width, target * width)
    for layer in range(layers):
        at = f"layers.{layer}."
        attention = at + "dec_attn."
        elementwise(net, keys * width, keys * width)  # joins memory and segment
        linear(net, attention + "qkv_net", width, 3 * width, keys, bias=False)
        net.add("linear", [(attention + "r_net.weight", [width, width])])
        elementwise(net, 2 * target * width, 2 * target * width)  # two biases of the queries
        scores = heads * target * keys
        products = target * keys * width
        # Scores are by content, and by position.
        net.add("linear", [], 2 * products, 2 * (target + keys) * width, 2 * scores)
        elementwise(net, scores, scores)  # shift
        elementwise(net, 2 * scores, scores)  # sum
        elementwise(net, scores, scores)  # mask
        elementwise(net, scores, scores)  # softmax
        if dropped:
            elementwise(net, scores, scores)
        net.add("linear", [], products, scores + keys * width, target * width)
        linear(net, attention + "o_net", width, width, target, bias=False)
        elementwise(net, target * width, target * width)  # dropout
        elementwise(net, 2 * target * width, target * width)
        layer_norm(net, attention + "layer_norm", width, target)
        linear(net, at + "pos_ff.CoreNet.0", width, inner, target)
        elementwise(net, target * inner, target * inner)
        elementwise(net, target * inner, target * inner)  # dropout
        linear(net, at + "pos_ff.CoreNet.3", inner, width, target)
        elementwise(net, target * width, target * width)  # dropout
        elementwise(net, 2 * target * width, target * width)
        layer_norm(net, at + "pos_ff.layer_norm", width, target)
    if divisor > 1:
        net.add("linear", [("crit.out_projs.0", [width, width])], target * width * width,
                target * width, target * width)
    outputs = cuts[0] + clusters
    parameters = [("crit.cluster_weight", [clusters, width]),
                  ("crit.cluster_bias", [clusters])] if adaptive else []
    parameters += [(f"crit.out_layers_biases.{i}", [words]) for i, words in enumerate(tables)]
    net.add("linear", parameters, target * width * outputs, target * width, target * outputs,
            outputs * width)
    net.add("loss", [], 0, target * outputs, target * outputs)  # logarithms of probabilities
    elementwise(net, target * outputs, target * outputs)  # rows of clusters, or negatives
    return net


def gpt2_small():
    words, layers, width, context = 50257, 12, 768, 1024
    net = Shape("gpt2-small", "GPT-2 small",
                "Radford et al.: Language Models are Unsupervised Multitask Learners, 2019; names "
                "as in Hugging Face's transformers", f"one context of {context} tokens",
                "tied: the gradient of wte is complete at the very end of the backward pass")
    rows = context * width
    net.add("elementwise",
            [("transformer.wte.weight", [words, width]),
             ("transformer.wpe.weight", [context, width])], 0,
            2 * rows, rows)
    for layer in range(layers):
        name = f"transformer.h.{layer}."
        layer_norm(net, name + "ln_1", width, context)
        linear(net, name + "attn.c_attn", width, 3 * width, context, transposed=True)
        scores = 12 * context * context
        net.add("linear", [], context * rows, 2 * rows, scores)
        elementwise(net, scores, scores)
        net.add("linear", [], context * rows, scores + rows, rows)
        linear(net, name + "attn.c_proj", width, width, context, transposed=True)
        elementwise(net, 2 * rows, rows)
        layer_norm(net, name + "ln_2", width, context)
        linear(net, name + "mlp.c_fc", width, 4 * width, context, transposed=True)
        elementwise(net, 4 * rows, 4 * rows)
        linear(net, name + "mlp.c_proj", 4 * width, width, context, transposed=True)
        elementwise(net, 2 * rows, rows)
    layer_norm(net, "transformer.ln_f", width, context)
    net.add("linear", [], context * width * words, rows, context * words, words * width)
    net.add("loss", [], 0, context * words, context * words)
    return net


class Tokens:
    """A model of repeated blocks whose costs are given for a token. Products and attention are
    reckoned from sizes by the reader."""

    def __init__(self, name, title, source, tokens, note=""):
        self.header = {"name": name, "title": title, "source": source,
                       "sample": f"one context of {tokens} tokens"}
        if note:
            self.header["note"] = note
        self.tokens_of_sample = tokens
        self.lines = []
        self.blocks = 0  # of the operations that are added; 0: outside of blocks
        self.elements = 0
        self.tensors = 0
        self.multiply_adds = 0

    def begin(self, blocks, prefix):
        self.lines += [f"  - blocks: {blocks}", f'    prefix: "{prefix}"', "    operations:"]
        self.blocks = blocks

    def end(self):
        self.blocks = 0

    def add(self, kind, fields=(), parameters=(), multiply_adds=0, tensor=""):
        """`multiply_adds` are those of a sample, and `tensor` says how tensor parallelism divides
        the operation."""
        parts = [f"kind: {kind}", *fields]
        if tensor:
            parts.append(f"tensor: {tensor}")
        if parameters:
            inner = ", ".join(f"{name}: {'x'.join(map(str, sizes))}" for name, sizes in parameters)
            parts.append("parameters: {" + inner + "}")
        self.lines.append(("      " if self.blocks else "  ") + "- {" + ", ".join(parts) + "}")
        times = max(1, self.blocks)
        self.multiply_adds += times * multiply_adds
        self.tensors += times * len(parameters)
        for _, sizes in parameters:
            count = 1
            for size in sizes:
                count *= size
            self.elements += times * count

    def moved(self, numbers, parameters=(), tensor="", masks=0):
        """An operation that reads and writes that many numbers for a token, and keeps masks of
        dropout."""
        fields = [f"bytes: {FLOAT * numbers}"] + ([f"masks: {masks}"] if masks else [])
        self.add("elementwise", fields, parameters, tensor=tensor)

    def loss(self, words):
        """The softmax of that many words for a token, and the loss."""
        self.add("loss", [f"bytes: {FLOAT * 2 * words}"], tensor="words")

    def norm(self, name, width, bias):
        sizes = [(name + ".weight", [width])] + ([(name + ".bias", [width])] if bias else [])
        self.add("batchnorm", [f"bytes: {FLOAT * 3 * width}"], sizes)

    def experts(self, name, inputs, outputs, experts, used, tensor):
        """A product of each expert, whose weights lie one after the other."""
        self.add("linear", [f"experts: {experts}", f"used: {used}"],
                 [(name + ".weight", [experts * outputs, inputs])],
                 self.tokens_of_sample * used * inputs * outputs, tensor)

    def linear(self, name, inputs, outputs, bias=False, tensor=""):
        sizes = [(name + ".weight", [outputs, inputs])]
        sizes += [(name + ".bias", [outputs])] if bias else []
        self.add("linear", [], sizes, self.tokens_of_sample * inputs * outputs, tensor)

    def shared_linear(self, inputs, outputs):
        """A product with a matrix that belongs to an operation before."""
        self.add("linear", ["product: {" + f"columns: {outputs}, inner: {inputs}" + "}",
                            f"weight_bytes: {FLOAT * inputs * outputs}"], [],
                 self.tokens_of_sample * inputs * outputs, "columns")

    def attention(self, heads, kv_heads, head_size, value_size=0, causal=True):
        fields = [f"heads: {heads}", f"kv_heads: {kv_heads}", f"head_size: {head_size}"]
        fields += [f"value_size: {value_size}"] if value_size else []
        fields += ["causal: 1"] if causal else []
        self.add("attention", fields, [],
                 self.tokens_of_sample ** 2 * heads * (head_size + (value_size or head_size)),
                 "heads")

    def text(self):
        lines = ["# Made by make_shapes.py: change it there."]
        lines += [f'{key}: "{value}"' for key, value in self.header.items()]
        batch, source = BATCHES.get(self.header["name"], (1, "each published training has its own"))
        lines += [f"batch: {batch}", f'batch_source: "{source}"',
                  f"tokens: {self.tokens_of_sample}", f"elements: {self.elements}",
                  f"tensors: {self.tensors}", f"multiply_adds: {self.multiply_adds}",
                  "operations:"]
        return "\n".join(lines + self.lines) + "\n"


def normed_blocks(net, prefix, names, layers, width, heads, inner, dropout=False, causal=False):
    """Blocks that normalise before attention and before the feed-forward net, with biases and GELU;
    `names` are those of the two norms and of the two products after each. Sums with `dropout` keep
    its masks; its time is left out. Positions see those before them alone where `causal`."""
    masks = width if dropout else 0
    norm1, qkv, project, norm2, widen, narrow = names
    net.begin(layers, prefix)
    net.norm(norm1, width, True)
    net.linear(qkv, width, 3 * width, True, "columns")
    net.attention(heads, heads, width // heads, causal=causal)
    net.linear(project, width, width, True, "rows")
    net.moved(3 * width, masks=masks)
    net.norm(norm2, width, True)
    net.linear(widen, width, inner, True, "columns")
    net.moved(2 * inner, tensor="numbers")
    net.linear(narrow, inner, width, True, "rows")
    net.moved(3 * width, masks=masks)
    net.end()


def gpt(name, title, source, layers, width, heads, words, tokens, learned=0, note="", inner=0,
        dropout=True):
    """Blocks of GPT-2: biases everywhere, GELU, head tied to the table of words."""
    net = Tokens(name, title, source, tokens, note or
                 "tied: the gradient of wte is complete at the very end of the backward pass")
    tables = [("transformer.wte.weight", [words, width])]
    tables += [("transformer.wpe.weight", [learned, width])] if learned else []
    net.moved(3 * width, tables, "words")
    normed_blocks(net, "transformer.h.",
                  ["ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj"], layers,
                  width, heads, inner or 4 * width, dropout, causal=True)
    net.norm("transformer.ln_f", width, True)
    net.shared_linear(width, words)
    net.loss(words)
    return net


def vit(name, title, source, layers, width, heads):
    """A vision transformer: 14 x 14 patches of 16 x 16 pixels and a token for the class."""
    patches, pixels, classes = 14 * 14, 3 * 16 * 16, 1000
    net = Tokens(name, title, source + "; names as in timm", patches + 1,
                 "without dropout; other tokens leave the 196 patches as they are")
    net.header["sample"] = "one 3x224x224 image, of 196 patches and a token for the class"
    net.add("conv", ["product: {" + f"rows: {patches}, columns: {width}, inner: {pixels}" + "}"],
            [("patch_embed.proj.weight", [width, 3, 16, 16]), ("patch_embed.proj.bias", [width])],
            patches * width * pixels)
    net.moved(2 * width, [("cls_token", [1, 1, width])])  # joins patches and the class
    net.moved(2 * width, [("pos_embed", [1, patches + 1, width])])
    normed_blocks(net, "blocks.",
                  ["norm1", "attn.qkv", "attn.proj", "norm2", "mlp.fc1", "mlp.fc2"], layers, width,
                  heads, 4 * width)
    net.norm("norm", width, True)
    net.add("linear", ["product: {" + f"rows: 1, columns: {classes}, inner: {width}" + "}"],
            [("head.weight", [classes, width]), ("head.bias", [classes])], classes * width)
    return net


GPT2 = ("Radford et al.: Language Models are Unsupervised Multitask Learners, 2019; names as in "
        "Hugging Face's transformers, matrices as PyTorch's Linear has them")


BERT_WORDS = 30522


def bert_encoder(net, layers, width, heads):
    words = BERT_WORDS
    net.moved(4 * width, [("embeddings.word_embeddings.weight", [words, width]),
                          ("embeddings.position_embeddings.weight", [512, width]),
                          ("embeddings.token_type_embeddings.weight", [2, width])], "words")
    net.norm("embeddings.LayerNorm", width, True)
    net.begin(layers, "encoder.layer.")
    for part in ["query", "key", "value"]:
        net.linear("attention.self." + part, width, width, True, "columns")
    net.attention(heads, heads, width // heads, causal=False)
    net.linear("attention.output.dense", width, width, True, "rows")
    net.moved(2 * width)  # dropout
    net.moved(3 * width)
    net.norm("attention.output.LayerNorm", width, True)
    net.linear("intermediate.dense", width, 4 * width, True, "columns")
    net.moved(2 * 4 * width, tensor="numbers")
    net.linear("output.dense", 4 * width, width, True, "rows")
    net.moved(2 * width)
    net.moved(3 * width)
    net.norm("output.LayerNorm", width, True)
    net.end()


def bert(name, title, layers, width, heads, masked=20):
    words, tokens = BERT_WORDS, 512
    net = Tokens(name, title,
                 "Devlin et al.: BERT, NAACL 2019; 30,522 words, pre-training on sequences of 512 "
                 "tokens; names as in Hugging Face's transformers", tokens,
                 f"the head is computed for {masked} of 128 words; tied; with dropout")
    bert_encoder(net, layers, width, heads)
    of = 128
    share = f"share: {masked / of}, "
    net.add("linear", ["product: {" + share + f"columns: {width}, inner: {width}" + "}"],
            [("cls.transform.dense.weight", [width, width]), ("cls.transform.dense.bias", [width])],
            tokens * masked // of * width * width)
    net.add("batchnorm", [f"bytes: {FLOAT * 3 * width * masked // of}"],
            [("cls.transform.LayerNorm.weight", [width]),
             ("cls.transform.LayerNorm.bias", [width])])
    net.add("linear", ["product: {" + share + f"columns: {words}, inner: {width}" + "}",
                       f"weight_bytes: {FLOAT * words * width}"], [("cls.bias", [words])],
            tokens * masked // of * words * width)
    net.add("loss", [f"bytes: {FLOAT * (2 * words * masked // of)}"])
    return net


def bert_squad():
    width = 1024
    net = Tokens("bert-large-squad", "BERT large for SQuAD",
                 "Devlin et al.: BERT, NAACL 2019; 30,522 words, fine-tuning on sequences of 384 "
                 "tokens; names as in Hugging Face's transformers", 384,
                 "two numbers a token, the begin and the end of the answer; no head over the "
                 "words, no pooler; with dropout")
    bert_encoder(net, 24, width, 16)
    net.linear("qa_outputs", width, 2, True)
    return net


def gated(net, at, names, width, inner):
    """A feed-forward net with a gate; `names` are those of gate, up and down."""
    net.linear(at + names[0], width, inner, tensor="columns")
    net.linear(at + names[1], width, inner, tensor="columns")
    net.moved(3 * inner, tensor="numbers")
    net.linear(at + names[2], inner, width, tensor="rows")


def gated_experts(net, at, names, width, inner, experts, used):
    """The same of experts, behind a router: tokens are copied to each of theirs, and what comes
    back is weighted and summed."""
    fields = [f"experts: {experts}", f"used: {used}"]
    net.moved((1 + used) * width)
    net.experts(at + names[0], width, inner, experts, used, "columns")
    net.experts(at + names[1], width, inner, experts, used, "columns")
    net.add("elementwise", [f"bytes: {FLOAT * 3 * inner * used}", *fields], tensor="numbers")
    net.experts(at + names[2], inner, width, experts, used, "rows")
    net.moved((1 + used) * width)


def llama(name, title, source, layers, width, heads, kv_heads, inner, words, tokens, experts=0,
          used=0, tied=False):
    """Blocks of Llama: RMS norm, rotary positions, grouped queries, gated SiLU, no biases; with
    experts as in Mixtral."""
    note = ""
    if tied:
        note = "tied: the gradient of embed_tokens is complete at the end of the backward pass"
    net = Tokens(name, title, source, tokens, note)
    keys = width // heads * kv_heads
    net.moved(2 * width, [("model.embed_tokens.weight", [words, width])], "words")
    net.begin(layers, "model.layers.")
    net.norm("input_layernorm", width, False)
    net.linear("self_attn.q_proj", width, width, tensor="columns")
    net.linear("self_attn.k_proj", width, keys, tensor="columns")
    net.linear("self_attn.v_proj", width, keys, tensor="columns")
    net.moved(2 * (width + keys), tensor="numbers")
    net.attention(heads, kv_heads, width // heads)
    net.linear("self_attn.o_proj", width, width, tensor="rows")
    net.moved(3 * width)
    net.norm("post_attention_layernorm", width, False)
    if experts:
        net.linear("block_sparse_moe.gate", width, experts)
        gated_experts(net, "block_sparse_moe.experts.", ["w1", "w3", "w2"], width, inner, experts,
                      used)
    else:
        gated(net, "mlp.", ["gate_proj", "up_proj", "down_proj"], width, inner)
    net.moved(3 * width)
    net.end()
    net.norm("model.norm", width, False)
    if tied:
        net.shared_linear(width, words)
    else:
        net.linear("lm_head", width, words, tensor="columns")
    net.loss(words)
    return net


def deepseek_v3():
    """Attention over latent keys and values, three dense blocks, and experts of which one is shared
    by all tokens."""
    layers, dense, width, heads, tokens, words = 61, 3, 7168, 128, 4096, 129280
    queries, keys, plain, rotary, values = 1536, 512, 128, 64, 128
    net = Tokens("deepseek-v3", "DeepSeek-V3",
                 "DeepSeek-AI: DeepSeek-V3 Technical Report, 2024; names as in Hugging Face's "
                 "transformers", tokens, "without the module that predicts a second token")
    net.moved(2 * width, [("model.embed_tokens.weight", [words, width])], "words")
    for blocks in (dense, layers - dense):
        net.begin(blocks, "model.layers.")
        net.norm("input_layernorm", width, False)
        net.linear("self_attn.q_a_proj", width, queries)
        net.norm("self_attn.q_a_layernorm", queries, False)
        net.linear("self_attn.q_b_proj", queries, heads * (plain + rotary), tensor="columns")
        net.linear("self_attn.kv_a_proj_with_mqa", width, keys + rotary)
        net.norm("self_attn.kv_a_layernorm", keys, False)
        net.linear("self_attn.kv_b_proj", keys, heads * (plain + values), tensor="columns")
        net.moved(2 * heads * 2 * (plain + rotary), tensor="numbers")
        net.attention(heads, heads, plain + rotary, values)
        net.linear("self_attn.o_proj", heads * values, width, tensor="rows")
        net.moved(3 * width)
        net.norm("post_attention_layernorm", width, False)
        names = ["gate_proj", "up_proj", "down_proj"]
        if blocks == dense:
            gated(net, "mlp.", names, width, 18432)
        else:
            experts, used, inner = 256, 8, 2048
            net.linear("mlp.gate", width, experts)
            net.moved(2 * experts, [("mlp.gate.e_score_correction_bias", [experts])])
            gated_experts(net, "mlp.experts.", names, width, inner, experts, used)
            gated(net, "mlp.shared_experts.", names, width, inner)
        net.moved(3 * width)
        net.end()
    net.norm("model.norm", width, False)
    net.linear("lm_head", width, words, tensor="columns")
    net.loss(words)
    return net


DEIT = "Touvron et al.: Training Data-Efficient Image Transformers, ICML 2021"
LLAMA2 = "Touvron et al.: Llama 2, 2023; names as in Hugging Face's transformers"
LLAMA3 = "Llama team: The Llama 3 Herd of Models, 2024; names as in Hugging Face's transformers"


def mpt(name, layers, width, heads):
    """MosaicML's MPT: as GPT-2 with 2,048 learned positions and 50,368 words; the published counts
    have biases."""
    return gpt(name, f"MPT {name[4:].upper()}",
               "MosaicML: llm-foundry, scripts/train/benchmarking, 2023", layers, width, heads,
               50368, 2048, 2048, dropout=False)


def ncf():
    users, items, factors = 138493, 26744, 64
    net = Shape("ncf", "NCF (NeuMF) for MovieLens-20M, 64 factors, MLP 256-256-128-64",
                "He et al.: Neural Collaborative Filtering, WWW 2017; sizes and names of NVIDIA's "
                "recipe",
                "one pair of user and item")
    for name, rows, width in [("mf_user_embed", users, factors), ("mf_item_embed", items, factors),
                              ("mlp_user_embed", users, 2 * factors),
                              ("mlp_item_embed", items, 2 * factors)]:
        net.add("elementwise", [(name + ".weight", [rows, width])], 0, width, width)
    elementwise(net, 2 * factors, factors)
    sizes = [256, 256, 128, 64]
    for place, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
        linear(net, f"mlp.{place}", inputs, outputs, 1)
        elementwise(net, outputs, outputs)
    linear(net, "final", 2 * factors, 1, 1)
    return net


def shapes():
    return [residual("resnet18-cifar", "ResNet-18 for CIFAR-10", [2, 2, 2, 2], False, True, 10),
            residual("resnet18", "ResNet-18 for ImageNet", [2, 2, 2, 2], False),
            residual("resnet50", "ResNet-50 for ImageNet", [3, 4, 6, 3], True),
            residual("resnet101", "ResNet-101 for ImageNet", [3, 4, 23, 3], True),
            residual("resnet152", "ResNet-152 for ImageNet", [3, 8, 36, 3], True),
            vgg16(), alexnet(), googlenet(), googlenet_cifar(), inception_v3(), lstm_ptb(),
            transformer_xl("transformer-xl", "Transformer-XL base for WikiText-103", 16, 512, 8,
                           2048, 192),
            transformer_xl("transformer-xl-large", "Transformer-XL large for WikiText-103", 18,
                           1024, 16, 4096, 384, 4, True),
            gpt2_small(), ncf(), bert("bert-base", "BERT base", 12, 768, 12),
            bert("bert-large", "BERT large", 24, 1024, 16), bert_squad(),
            vit("deit-small", "DeiT-S/16 for ImageNet", DEIT, 12, 384, 6),
            vit("deit-base", "DeiT-B/16 for ImageNet", DEIT, 12, 768, 12),
            vit("vit-large", "ViT-L/16 for ImageNet",
                "Dosovitskiy et al.: An Image is Worth 16x16 Words, ICLR 2021", 24, 1024, 16),
            gpt("gpt2-xl", "GPT-2 XL", GPT2, 48, 1600, 25, 50257, 1024, 1024),
            gpt("gpt3-175b", "GPT-3 175B",
                "Brown et al.: Language Models are Few-Shot Learners, NeurIPS 2020", 96, 12288, 96,
                50257, 2048, 2048),
            llama("llama2-7b", "Llama 2 7B", LLAMA2, 32, 4096, 32, 32, 11008, 32000, 4096),
            llama("llama2-13b", "Llama 2 13B", LLAMA2, 40, 5120, 40, 40, 13824, 32000, 4096),
            llama("llama2-70b", "Llama 2 70B", LLAMA2, 80, 8192, 64, 8, 28672, 32000, 4096),
            llama("llama3-8b", "Llama 3 8B", LLAMA3, 32, 4096, 32, 8, 14336, 128256, 8192),
            llama("llama3-70b", "Llama 3 70B", LLAMA3, 80, 8192, 64, 8, 28672, 128256, 8192),
            llama("llama3-405b", "Llama 3.1 405B", LLAMA3, 126, 16384, 128, 8, 53248, 128256,
                  8192),
            llama("mixtral-8x7b", "Mixtral 8x7B",
                  "Jiang et al.: Mixtral of Experts, 2024; names as in Hugging Face's transformers",
                  32, 4096, 32, 8, 14336, 32000, 4096, 8, 2),
            mpt("mpt-1b", 24, 2048, 16), mpt("mpt-3b", 32, 2560, 20), mpt("mpt-7b", 32, 4096, 32),
            mpt("mpt-13b", 40, 5120, 40), mpt("mpt-30b", 48, 7168, 56),
            mpt("mpt-70b", 80, 8192, 64)]


SDP4BIT = "Jia et al.: SDP4Bit, NeurIPS 2024; sizes of its scripts"
ZEROPP = "Wang et al.: ZeRO++, 2023; sizes of DeepSpeed's figures"
MEGATRON = "Shoeybi et al.: Megatron-LM, 2019; sizes of its published trainings"
MEGATRON2 = "Narayanan et al.: Megatron-LM, SC 2021, table 1"
BLOOM = ("BigScience: BLOOM, 2022, and its measurements of layouts; without the norm behind the "
         "words, and only where it was measured with a table of positions")
NANOTRON = "nanotron: its summary of the best layouts; sizes of its configurations"


def published():
    """Models of published trainings (scenarios/whole_steps/) that have no name of their own."""
    return [gpt("gpt2-1b", "GPT-2 of 1.2 billion parameters", MEGATRON, 24, 1920, 15, 51200, 1024,
                1024),
            gpt("gpt2-124m", "GPT-2 small with fused attention", GPT2, 12, 768, 12, 50304, 1024,
                1024),
            bert("bert-base-all", "BERT base whose head is computed for all words", 12, 768, 12,
                 128),
            transformer_xl("transformer-xl-all", "Transformer-XL base with a softmax of all words",
                           16, 512, 8, 2048, 192, adaptive=False),
            gpt("gpt-16x1536", "GPT of 16 layers of 1536", MEGATRON, 16, 1536, 16, 50304, 2048,
                2048),
            gpt("gpt2-medium", "GPT-2 medium", GPT2, 24, 1024, 16, 50304, 1024, 1024),
            gpt("gpt2-large", "GPT-2 large", GPT2, 36, 1280, 20, 50304, 1024, 1024),
            gpt("sdp-1.3b", "GPT of SDP4Bit, 1.3 billion parameters", SDP4BIT, 24, 2048, 16, 50304,
                2048, 2048),
            gpt("sdp-2.7b", "GPT of SDP4Bit, 2.7 billion parameters", SDP4BIT, 32, 2560, 32, 50304,
                2048, 2048),
            gpt("zpp-18b", "GPT of ZeRO++, 18 billion parameters", ZEROPP, 40, 6144, 32, 50304, 512,
                512),
            llama("llama2-34b", "Llama 2 34B", LLAMA2, 48, 8192, 64, 8, 22016, 32000, 4096),
            gpt("gpt-12x768", "GPT of 12 layers of 768", MEGATRON, 12, 768, 12, 50304, 2048, 2048),
            gpt("gpt2-2b", "GPT-2 of 2 billion parameters", MEGATRON, 30, 2304, 18, 51200, 1024,
                1024),
            gpt("gpt2-8b", "GPT-2 of 8.7 billion parameters", MEGATRON, 42, 4096, 32, 51200, 1024,
                1024),
            gpt("gpt-7.5b", "GPT of 7.5 billion parameters", MEGATRON2, 36, 4096, 32, 51200, 2048,
                2048),
            gpt("gpt-18b", "GPT of 18 billion parameters", MEGATRON2, 40, 6144, 48, 51200, 2048,
                2048),
            gpt("gpt-39b", "GPT of 39 billion parameters", MEGATRON2, 48, 8192, 64, 51200, 2048,
                2048),
            gpt("gpt-1t", "GPT of a trillion parameters", MEGATRON2, 128, 25600, 160, 51200, 2048,
                2048),
            gpt("sdp-6.7b", "GPT of SDP4Bit, 6.7 billion parameters", SDP4BIT, 32, 4096, 32, 50304,
                2048, 2048),
            gpt("sdp-13b", "GPT of SDP4Bit, 13 billion parameters", SDP4BIT, 40, 5120, 40, 50304,
                2048, 2048),
            gpt("sdp-18b", "GPT of SDP4Bit, 18 billion parameters", SDP4BIT, 40, 6144, 48, 50304,
                2048, 2048),
            gpt("bloom-72x14336", "BLOOM of 72 layers of 14336", BLOOM, 72, 14336, 64, 250680, 2048,
                2048, dropout=False),
            gpt("bloom-78x13824", "BLOOM of 78 layers of 13824", BLOOM, 78, 13824, 96, 250680, 2048,
                2048, dropout=False),
            gpt("bloom-176b", "BLOOM 176B", BLOOM, 70, 14336, 112, 250880, 2048,
                dropout=False),
            llama("nt-1.34b", "Llama of nanotron, 1.34 billion parameters", NANOTRON, 16, 2048, 32,
                  32, 8192, 131072, 4096, tied=True),
            llama("nt-3.57b", "Llama of nanotron, 3.57 billion parameters", NANOTRON, 28, 3072, 32,
                  32, 8192, 131072, 4096, tied=True),
            llama("nt-8.86b", "Llama of nanotron, 8.86 billion parameters", NANOTRON, 32, 4096, 32,
                  32, 14336, 131072, 4096),
            llama("nt-80b", "Llama of nanotron, 80 billion parameters", NANOTRON, 80, 8192, 64, 64,
                  28672, 131072, 4096),
            deepseek_v3()]


def main():
    folder = pathlib.Path(__file__).resolve().parent
    rows = folder.parent.parent / "scenarios" / "whole_steps"
    for shape, place in [(shape, folder) for shape in shapes()] + [(shape, rows)
                                                                   for shape in published()]:
        path = place / (shape.header["name"] + ".yaml")
        if sys.argv[1:] == ["--check"]:
            if not path.is_file() or path.read_text() != shape.text():
                sys.exit(f"{path}: is not what make_shapes.py writes; run it")
            continue
        path.write_text(shape.text())
        print(f"{path.name}: {shape.elements:,} elements, {shape.tensors} tensors, "
              f"{shape.multiply_adds:,} multiply-adds")


if __name__ == "__main__":
    main()
