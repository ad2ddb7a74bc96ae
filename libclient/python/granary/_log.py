"""The package's logger, `granary`: connections and instances at INFO, graphs at DEBUG, what had to be done again at WARNING."""
import logging

logger = logging.getLogger("granary")
logger.addHandler(logging.NullHandler())
