// Holds the precompiled headers that every library reuses; see TriremeTargets.cmake.
