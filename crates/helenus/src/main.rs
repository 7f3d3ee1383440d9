//! The binary. All of it is in the library, which is compiled beside the crates that it calls; a binary would wait for them.

use std::process::ExitCode;

fn main() -> ExitCode {
    helenus::main()
}
