//! The driver of Rust over sessions of the crate zookeeper-client.

#[path = "main.rs"]
mod driver;

fn main() {
    driver::main();
}
