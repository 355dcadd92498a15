"""rank-AD: anomaly detection by learning to rank densities, for rankbench."""
