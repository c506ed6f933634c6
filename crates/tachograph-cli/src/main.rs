//! The standalone `tachograph`: needs no Python to look at processes and files.
#![forbid(unsafe_code)]

fn main() -> ! {
    tachograph_cli::main(std::env::args_os().collect(), None).leave()
}
