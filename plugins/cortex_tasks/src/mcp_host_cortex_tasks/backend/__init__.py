"""The Cortex API for those without a backend: FastAPI over SQLAlchemy, by the extra `backend`."""
