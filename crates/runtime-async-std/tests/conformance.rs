//! Every check of the conformance suite, on every variant of this runtime.
conformance::suite!(env!("CARGO_BIN_EXE_runtime-async-std"));
