"""DistributedDataParallel of two processes: over gloo on the host device, over NCCL on two GPUs. And cuda:1."""

import copy
import multiprocessing
import os
import socket

import pytest
import torch
from conftest import DEVICE

import convtgen.torch as ct

STEPS = 20 if DEVICE == "cuda" else 3
CHANNELS = 64 if DEVICE == "cuda" else 3

if DEVICE == "cuda" and torch.cuda.device_count() < 2:
    pytest.skip("needs two GPUs", allow_module_level=True)


def net():
    return torch.nn.Sequential(torch.nn.ConvTranspose2d(4, CHANNELS, 4, stride=2, padding=1), torch.nn.ReLU(),
                               torch.nn.ConvTranspose2d(CHANNELS, 3, 3, stride=2, padding=1, output_padding=1))


def batches():
    """(steps, ranks, batch, channels, height, width)."""
    return torch.randn(STEPS, 2, 2, 4, 5, 6, generator=torch.Generator().manual_seed(1))


def _device(rank):
    return torch.device("cuda", rank) if DEVICE == "cuda" else torch.device("cpu")


def _step(model, optimizer, x):
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    return float(loss.detach())


def _train(rank, port, store, module, found):
    os.environ["CONVTGEN_CACHE_DIR"] = store
    device = _device(rank)
    torch.distributed.init_process_group("nccl" if DEVICE == "cuda" else "gloo", init_method=f"tcp://127.0.0.1:{port}",
                                         rank=rank, world_size=2)
    ct.use_host_device(True)
    torch.backends.cudnn.allow_tf32 = False
    module = module.to(device)
    report = ct.accelerate(module)
    data = batches()[:, rank].to(device)
    ct.prepare(module, data[0], progress=False)
    torch.distributed.barrier()
    parallel = torch.nn.parallel.DistributedDataParallel(module, device_ids=[rank] if DEVICE == "cuda" else None)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.05)
    losses = [_step(parallel, optimizer, x) for x in data]
    found.put((rank, losses, [parameter.detach().cpu().numpy() for parameter in module.parameters()],
               [row[2:4] for row in report.rows()]))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def test_two_processes_of_ddp(tmp_path):
    """Both ranks have the parameters, and together the losses, of one process that trains torch's model on all data."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.manual_seed(0)
    reference = net()
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    workers = [context.Process(target=_train, args=(rank, port, str(tmp_path), copy.deepcopy(reference), queue))
               for rank in range(2)]
    for worker in workers:
        worker.start()
    found = sorted(queue.get(timeout=300) for _ in workers)
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    reference = reference.to(_device(0))
    optimizer = torch.optim.SGD(reference.parameters(), lr=0.05)
    expected = [_step(reference, optimizer, x.flatten(0, 1).to(_device(0))) for x in batches()]
    for both, mean in zip(zip(found[0][1], found[1][1]), expected):
        assert sum(both) / 2 == pytest.approx(mean, rel=1e-4)
    for rank in range(2):
        for value, parameter in zip(found[rank][2], reference.parameters()):
            torch.testing.assert_close(torch.from_numpy(value), parameter.detach().cpu(), rtol=1e-3, atol=1e-5)
    rows = [dict(each[3]) for each in found]
    assert rows[0] == rows[1] and set(rows[0]) >= {"forward", "grad_input", "grad_weight"}


if DEVICE == "cuda":  # there is one CPU

    @pytest.mark.parametrize("compute", ["f32", "tf32"])
    def test_another_device_than_the_current_one(compute, launches):
        torch.manual_seed(0)
        theirs = torch.nn.ConvTranspose2d(64, 32, 4, stride=2, padding=1).to("cuda:1")
        own = copy.deepcopy(theirs)
        ct.accelerate(own, policy="always", compute=compute)
        x = torch.randn(2, 64, 9, 10, device="cuda:1", requires_grad=True)
        assert torch.cuda.current_device() == 0
        y, expected = own(x), theirs(x)
        assert y.device == x.device and launches.take() == ["forward"]
        bound = {"rtol": 1e-2, "atol": 1e-2} if compute == "tf32" else {"rtol": 1e-4, "atol": 1e-4}
        torch.testing.assert_close(y, expected, **bound)
        grads = [torch.autograd.grad(each.square().mean(), [x, *module.parameters()])
                 for each, module in ((y, own), (expected, theirs))]
        assert launches.take() == ["grad_input", "grad_weight"]
        for ours, reference in zip(*grads):
            assert ours.device == x.device
            torch.testing.assert_close(ours, reference, **bound)
