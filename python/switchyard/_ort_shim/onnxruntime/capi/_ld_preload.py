from switchyard.capi._ld_preload import *  # noqa: F403
