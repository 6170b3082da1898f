"""The dense form of the integral transforms, as the paper writes it: the truth that the factored form must equal."""

import math

import torch
from torch import Tensor, nn

from iaenet.nn.kernels import IntegralDecoder, IntegralEncoder, Sites


def kernel_matrix(transform: IntegralEncoder | IntegralDecoder, values: Tensor | None, sites: Sites) -> Tensor:
    """`K_ij = phi(a(x_i), x_i, z_j)`, assembled: `(b, n, m)`."""
    features = transform.kernel.features(transform.kernel.hidden(values, sites.coordinates))
    return features @ transform.weight[:, :-1].T + transform.weight[:, -1]


class DenseEncoder(nn.Module):
    """`v(z_j) = sum_i w_i phi_1(a(x_i), x_i, z_j) a(x_i)` (eq. numintegraltransform2), with an encoder's weights."""

    def __init__(self, encoder: IntegralEncoder) -> None:
        super().__init__()
        self.encoder = encoder

    @property
    def kernel(self) -> nn.Module:
        return self.encoder.kernel

    def local(self, values: Tensor, sites: Sites) -> Tensor:
        return values

    def reduce(self, values: Tensor, sites: Sites, z: Tensor | None = None) -> Tensor:
        matrix = kernel_matrix(self.encoder, values, sites)
        return torch.einsum("bnm,n,bnc->bmc", matrix.expand(len(values), -1, -1), sites.weights, values)

    def latent(self, moments: Tensor) -> Tensor:
        return moments

    def forward(self, values: Tensor, sites: Sites) -> Tensor:
        return self.reduce(values, sites)


class DenseDecoder(nn.Module):
    """`b(x_i) = sum_j phi_2(a(x_i), x_i, z_j) u(z_j) / sqrt(m)`, with the weights of a decoder."""

    def __init__(self, decoder: IntegralDecoder) -> None:
        super().__init__()
        self.decoder = decoder

    def code(self, latent: Tensor) -> Tensor:
        return latent

    def expand(self, code: Tensor, values: Tensor | None, sites: Sites, z: Tensor | None = None) -> Tensor:
        matrix = kernel_matrix(self.decoder, values, sites)
        return matrix.expand(len(code), -1, -1) @ code / math.sqrt(code.shape[1])

    def forward(self, latent: Tensor, values: Tensor | None, sites: Sites) -> Tensor:
        return self.expand(latent, values, sites)


def densify(model: nn.Module) -> nn.Module:
    """Replace every factored transform of a model by its dense form, weights shared."""
    for name, child in list(model.named_children()):
        if isinstance(child, IntegralEncoder):
            model._modules[name] = DenseEncoder(child)
        elif isinstance(child, IntegralDecoder):
            model._modules[name] = DenseDecoder(child)
        else:
            densify(child)
    return model
