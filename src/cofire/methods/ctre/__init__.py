"""CTRE (Atashgahi et al., 2022): grow where two neurons fire alike."""
