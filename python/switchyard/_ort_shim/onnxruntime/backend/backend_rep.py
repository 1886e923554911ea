from switchyard.backend.backend_rep import *  # noqa: F403
