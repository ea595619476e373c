//! What is urgent comes first, and what is for later does not come before its time.
//!
//!     cargo run -p zkrecipes --example priority_queue [zk1:2181]

use std::time::{Duration, Instant};

use zkrecipes::{Client, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let hosts = std::env::args().nth(1).unwrap_or_else(|| "embedded:".to_owned());
    let client = Client::connect(&hosts, Default::default()).await?;

    let calls = client.priority_queue("/examples/calls", Default::default())?;
    calls.put(b"the newsletter", 10).await?;
    calls.put(b"the doctor", -1).await?;
    for _ in 0..2 {
        println!("{}", String::from_utf8_lossy(&calls.get().await?));
    }

    let reminders = client.delay_queue("/examples/reminders", Default::default())?;
    let begun = Instant::now();
    reminders.put(b"the tea is ready", Duration::from_millis(300)).await?;
    let reminder = reminders.get().await?;
    println!("{} after {:?}", String::from_utf8_lossy(&reminder), begun.elapsed());

    client.close(None).await
}
