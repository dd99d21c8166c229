"""PyTorch goes through steps of a model: the push that brings a cart to its goal is learned through 20 steps."""
import torch

import nonholo

CART = "model cart\nparameter m = 2\ninput push = 0\ncoordinate x\nlagrangian m/2*x'^2\nforce x = push\n"
step = nonholo.load(CART).system(input={"push:held": None}).map(0.05, "gauss")


class Advance(torch.autograd.Function):
    """A step from z = (q, v) with inputs u; backwards, the product with its transposed derivative."""

    @staticmethod
    def forward(ctx, z, u):
        ctx.save_for_backward(z, u)
        return torch.from_numpy(step(z.numpy(), u.numpy())[0])

    @staticmethod
    def backward(ctx, w):
        z, u = ctx.saved_tensors
        by = step(z.numpy(), u.numpy())[1](w.numpy())
        return torch.from_numpy(by.state), torch.from_numpy(by.inputs)


def miss(u):
    z = torch.zeros(2, dtype=torch.float64)
    for push in u:
        z = Advance.apply(z, push.reshape(1))
    return ((z - torch.tensor([1.0, 0.0], dtype=torch.float64)) ** 2).sum()


def main():
    u = torch.zeros(20, dtype=torch.float64, requires_grad=True)
    search = torch.optim.LBFGS([u], max_iter=50, line_search_fn="strong_wolfe", tolerance_grad=1e-12, tolerance_change=1e-15)

    def evaluate():
        search.zero_grad()
        total = miss(u)
        total.backward()
        return total

    search.step(evaluate)
    return u.detach(), float(miss(u).detach())


if __name__ == "__main__":
    u, left = main()
    print(f"misses the goal by {left ** 0.5:.1e}; pushes from {u[0]:.3f} to {u[-1]:.3f}")
