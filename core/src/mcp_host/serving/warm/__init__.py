"""The warm host: one process that serves every stdio session whose front hands it over."""
