//! A value that many follow: it is set with its version, and a follower is told the latest.
//!
//!     cargo run -p zkrecipes --example config [zk1:2181]

use zkrecipes::{Client, ErrorKind, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let hosts = std::env::args().nth(1).unwrap_or_else(|| "embedded:".to_owned());
    let client = Client::connect(&hosts, Default::default()).await?;

    let mode = client.config("/examples/mode")?;
    let version = mode.set(b"blue", None).await?;
    let mut changes = mode.watch();
    while let Some(now) = changes.next().await.transpose()? {
        let Some(now) = now else { continue };
        println!("version {} is {}", now.version, String::from_utf8_lossy(&now.value));
        if now.version > version {
            break;
        }
        mode.set(b"green", Some(version)).await?;
    }
    match mode.set(b"red", Some(version)).await {
        Err(error) if error.kind() == ErrorKind::BadVersion => println!("red comes too late"),
        other => println!("{other:?}"),
    }

    client.close(None).await
}
