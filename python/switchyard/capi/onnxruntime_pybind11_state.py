"""The native names: classes, exceptions and functions."""

from switchyard import _listing as opkernel  # noqa: F401
from switchyard import _listing as schemadef  # noqa: F401
from switchyard._adapters import AdapterFormat, LoraAdapter  # noqa: F401
from switchyard._compile import ModelCompiler, OrtExternalInitializerInfo  # noqa: F401
from switchyard._core import *  # noqa: F403
from switchyard._devices import OrtArenaCfg, OrtDevice, OrtMemoryInfo  # noqa: F401
from switchyard._enums import *  # noqa: F403
from switchyard._errors import DeviceReset  # noqa: F401
from switchyard._listing import (  # noqa: F401
    get_all_operator_schema,
    get_all_opkernel_def,
    get_registered_ep_kernel_defs,
)
from switchyard._module import *  # noqa: F403
from switchyard._native import NativeInferenceSession as InferenceSession  # noqa: F401
from switchyard._native import (  # noqa: F401
    SessionIOBinding,
    SessionObjectInitializer,
    get_session_initializer,
)
from switchyard._quantize import (  # noqa: F401
    quantize_matmul_2bits,
    quantize_matmul_4bits,
    quantize_matmul_8bits,
    quantize_matmul_bnb4,
    quantize_qdq_matmul_2bits,
    quantize_qdq_matmul_4bits,
)
from switchyard._session import (  # noqa: F401
    OrtEpAssignedNode,
    OrtEpAssignedSubgraph,
    OrtValueVector,
    copy_tensors,
)
from switchyard._sparse import (  # noqa: F401
    SparseBlockSparseView,
    SparseCooView,
    SparseCsrView,
    SparseTensor,
)
