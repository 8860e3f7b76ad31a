"""Where the memory of each state space lies among generic addresses, see `ptxcore.machine.run.memory`."""

from __future__ import annotations

#: Windows below 2**32, by the four bits above `WINDOW_BITS`.
WINDOW_BITS = 28
LOCAL, CONST, PARAM, SHARED = (number << WINDOW_BITS for number in (1, 2, 3, 4))
#: Where `mapa` puts the shared memory of the thread's own CTA, if those addresses are to be aliases. Its inside is that of the
#: shared window.
OWN_ALIAS = 15 << WINDOW_BITS
#: Within the shared window: bits of an offset; above them stands the rank of the CTA in its cluster.
SHARED_BITS = 24
#: The offset in an address of the shared window.
SHARED_OFFSET = (1 << SHARED_BITS) - 1
#: Where the handles of textures, surfaces and samplers are, which are no addresses.
IMAGES = 5 << WINDOW_BITS
GLOBAL_BITS = 32
#: The first address of `.global` memory: below it lie the windows of the other state spaces.
FIRST_GLOBAL = 1 << GLOBAL_BITS
