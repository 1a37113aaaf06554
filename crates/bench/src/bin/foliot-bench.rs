//! The benchmark tool on its own; `foliot bench` is the same.

use std::process::ExitCode;

fn main() -> ExitCode {
    foliot_bench::main(std::env::args_os())
}
