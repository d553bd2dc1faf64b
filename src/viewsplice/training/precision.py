"""In which precision networks are trained: products of bfloat16 where the processor has them, else float32."""

from __future__ import annotations

from functools import cache

import torch

from viewsplice.config import TrainConfig

# Smaller products do not repay the rounding of what goes into them.
_FEWEST_ROWS = 256


def mixed_precision(config: TrainConfig, device: torch.device) -> torch.autocast:
    """Return the context in which losses are computed.

    Weights, their steps and losses stay float32; what goes into a product of matrices and what comes out, latents
    among them, is rounded to eight binary digits, which is less than the noise of a batch. Fitted networks always run
    in float32.
    """
    is_mixed = config.precision == "bfloat16" or (
        config.precision == "auto" and config.batch_size >= _FEWEST_ROWS and _has_bfloat16(device.type)
    )
    return torch.autocast(device.type, torch.bfloat16, enabled=is_mixed)


@cache
def _has_bfloat16(device: str) -> bool:
    """Tell whether a device multiplies bfloat16 by instructions of its own (elsewhere it is slower than float32)."""
    tests = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return device == "cpu" and any(getattr(torch.cpu, name, bool)() for name in tests)
