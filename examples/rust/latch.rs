//! A report that is made when all parts have been imported, whoever imports them.
//!
//!     cargo run -p zkrecipes --example latch [zk1:2181]

use std::time::Duration;

use zkrecipes::{Client, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let hosts = std::env::args().nth(1).unwrap_or_else(|| "embedded:".to_owned());
    let client = Client::connect(&hosts, Default::default()).await?;

    let parts = ["north", "south", "west"];
    let imports = client.latch("/examples/imports", parts.len())?;
    // It may be open from the last time.
    imports.reset(parts.len()).await?;
    for part in parts {
        let imports = imports.clone();
        tokio::spawn(async move {
            match imports.count_down(1).await {
                Ok(left) => println!("{part} is in, {left} are left"),
                Err(error) => eprintln!("{part}: {error}"),
            }
        });
    }
    imports.wait(Some(Duration::from_secs(30))).await?;
    println!("all parts are in: the report can be made");

    client.close(None).await
}
