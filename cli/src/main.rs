use zkrecipes_cli::Overwriting;

/// Arguments and variables may be secrets.
#[global_allocator]
static MEMORY: Overwriting = Overwriting(std::alloc::System);

fn main() {
    zkrecipes_cli::forgo_embedded();
    std::process::exit(zkrecipes_cli::run(std::env::args_os().collect()));
}
