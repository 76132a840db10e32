"""What cannot be, said before the training begins."""

import warnings

import torch
import torch.distributed as dist

from .._legacy import Error

# Methods that are optimizers, and those whose exchange replaces an optimizer's.
_OPTIMIZERS = ("demo", "onebit-adam")
# Policies that need no number of steps.
_TIMELESS = ("uniform", "legacy-layer")


def refuse_optimizers(scheme):
    """Refuses methods that are part of an optimizer."""
    name = scheme.partition("@")[0].partition(":")[0].partition("+")[0]
    if name in _OPTIMIZERS:
        raise Error(
            f"scheme: got '{scheme}', which is part of an optimizer; allowed: schemes that "
            "exchange gradients (a hook sees nothing else)"
        )


def check_steps(policy, total_steps):
    name = policy.partition(":")[0]
    if total_steps <= 0 and name not in _TIMELESS:
        raise Error(
            f"total_steps: got {total_steps}; allowed: the number of steps of the training, which "
            f"policy {name} needs"
        )


def check_model(model, unused):
    """Refuses models whose gradients the hook would not see as they are."""
    for name, module in model.named_modules():
        if getattr(module, "sparse", False) and isinstance(
            module, (torch.nn.Embedding, torch.nn.EmbeddingBag)
        ):
            raise Error(f"{name}: got sparse gradients; allowed: Embedding(sparse=False)")
    if unused not in ("refuse", "allow"):
        raise Error(f"unused: got '{unused}'; allowed: refuse, allow")
    if not getattr(model, "find_unused_parameters", False):
        return
    if unused == "refuse":
        raise Error(
            "find_unused_parameters: got True; allowed: False, or unused='allow': DDP throws away "
            "what arrives for parameters that no rank used, with the residuals in it"
        )
    warnings.warn(
        "find_unused_parameters: what residuals send for a parameter that no rank used in a step "
        "is lost, because DDP throws its gradient away",
        stacklevel=4,
    )


def check_momentum(traits, optimizer, scheme):
    """Refuses momentum that would be applied twice."""
    if not traits["owns_momentum"]:
        return
    if optimizer is None:
        warnings.warn(
            f"scheme {scheme} applies momentum before it compresses: the optimizer must have none "
            "(optimizer= lets this be checked)",
            stacklevel=4,
        )
        return
    for group in optimizer.param_groups:
        momentum = group.get("momentum", group.get("betas", (0,))[0])
        if momentum:
            raise Error(
                f"optimizer: got momentum {momentum}; allowed: 0 with scheme {scheme}, which "
                "applies momentum before it compresses"
            )


def rate_of(optimizer, last):
    """Returns the learning rate of group 0, and the rates of all groups. Refuses rates that did not
    change by the same factor since `last`, by which residuals are rescaled."""
    rates = [float(group["lr"]) for group in optimizer.param_groups]
    if last and len(rates) == len(last):
        factors = [new / old for new, old in zip(rates, last) if old > 0]
        if factors and max(factors) > (1 + 1e-6) * min(factors):
            raise Error(
                f"optimizer: got rates {rates} after {last}; allowed: groups whose rates change by "
                "one factor, by which residuals are rescaled, or rescale_residuals=False"
            )
    return rates[0], rates


def same_everywhere(carrier, text, what):
    """Refuses settings that differ between the ranks."""
    texts = carrier.texts(text)
    for rank, other in enumerate(texts):
        if other == texts[0]:
            continue
        pairs = zip(texts[0].split("\n"), other.split("\n"))
        first = next(((a, b) for a, b in pairs if a != b), ("more", "less"))
        raise Error(
            f"{what}: got '{first[1]}' at rank {rank} and '{first[0]}' at rank 0; allowed: the "
            "same at all ranks"
        )


def static_graph_accumulates(group):
    """Returns whether hooks run in models with static_graph that accumulate gradients, which some
    versions of PyTorch break: two steps of a model of one weight."""
    seen = []

    def hook(state, bucket):
        seen.append(float(bucket.buffer()[0]))
        done = torch.futures.Future()
        done.set_result(bucket.buffer())
        return done

    toy = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.ones_(toy.weight)
    try:
        model = torch.nn.parallel.DistributedDataParallel(
            toy, process_group=group, static_graph=True
        )
        model.register_comm_hook(None, hook)
        for _ in range(2):
            with model.no_sync():
                model(torch.ones(1, 1)).sum().backward()
            model(torch.ones(1, 1)).sum().backward()
            toy.weight.grad = None
    except RuntimeError:
        return False
    return seen == [2.0, 2.0]


def check_world(group):
    if not dist.is_initialized():
        raise Error("torch.distributed: got no group; allowed: after init_process_group")
    if group is not None and dist.get_rank(group) < 0:
        raise Error("group: got one without this process; allowed: that of the model")
