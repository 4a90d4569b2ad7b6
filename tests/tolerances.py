"""How far apart two computations of one number may lie, in one place."""

EXACT = 1e-12  # both in float64, same operations
DOUBLE = 1e-10  # both in float64, other order of operations
FLOAT = 1e-5  # float32 against float64 or against another float32
ROUNDING = 1e-6  # the same float32 formula in another order, numbers of ordinary size
TABLE = 2e-7  # a float32 table of values in [-1, 1] against float64: a few units in the last place
DEVICE = 1e-4  # CPU against GPU
DIFFERENCE = 1e-6  # central differences in float64, relative
SAMPLING = 0.05  # a variance estimated from thousands of draws, relative
