from switchyard.datasets import *  # noqa: F403
