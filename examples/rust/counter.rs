//! A number that many count on: each change is made exactly once.
//!
//!     cargo run -p zkrecipes --example counter [zk1:2181]

use zkrecipes::{Client, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let hosts = std::env::args().nth(1).unwrap_or_else(|| "embedded:".to_owned());
    let client = Client::connect(&hosts, Default::default()).await?;

    let seats = client.counter("/examples/seats", Default::default())?;
    // Only the first who comes puts out the seats.
    seats.compare_and_set(0, 100).await?;
    println!("{} seats are left after two were sold", seats.add(-2).await?);
    println!("a reader sees {}", seats.get().await?);

    client.close(None).await
}
