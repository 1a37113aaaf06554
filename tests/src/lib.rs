//! Black-box tests: the real binary and real sockets.
