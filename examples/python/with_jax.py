"""JAX goes through steps of a model: the derivative of where a cart ends, by the pushes that brought it there."""
import jax
import jax.numpy as jnp

import nonholo

jax.config.update("jax_enable_x64", True)
CART = "model cart\nparameter m = 2\ninput push = 0\ncoordinate x\nlagrangian m/2*x'^2\nforce x = push\n"
step = nonholo.load(CART).system(input={"push:held": None}).map(0.05, "gauss")


@jax.custom_vjp
def advance(z, u):
    """A step from z = (q, v) with inputs u; backwards, the product with its transposed derivative."""
    return jax.pure_callback(lambda z, u: step(z, u)[0], z, z, u)


def forward(z, u):
    return advance(z, u), (z, u)


def backward(kept, w):
    return jax.pure_callback(lambda z, u, w: tuple(step(z, u)[1](w)[:2]), kept, *kept, w)


advance.defvjp(forward, backward)


def miss(u):
    z = jnp.zeros(2)
    for push in u:
        z = advance(z, push.reshape(1))
    return ((z - jnp.array([1.0, 0.0])) ** 2).sum()


def main():
    """The slope of the miss at constant pushes, which has a closed form: a cart's end is linear in them."""
    return jax.value_and_grad(miss)(jnp.ones(20))


if __name__ == "__main__":
    value, slope = main()
    print(f"misses by {value ** 0.5:.6f}; slopes from {slope[0]:.6f} to {slope[-1]:.6f}")
