fn main() {
    std::process::exit(zkrecipes_cli::run(std::env::args_os().collect()));
}
