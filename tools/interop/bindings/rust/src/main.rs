//! Read JSON values with the generated types and write them again.
//!
//! A line of the input is the name of a type, a tab and a value. The answer is a line with "ok", a tab and the value as
//! the type writes it, or "refused", a tab and why.

#[allow(dead_code)]
mod xmcp;

use serde::{de::DeserializeOwned, Serialize};
use std::io::{stdin, BufRead};

fn round_trip<T: DeserializeOwned + Serialize>(text: &str) -> serde_json::Result<String> {
    let value: T = serde_json::from_str(text)?;
    serde_json::to_string(&value)
}

fn read_and_write(name: &str, text: &str) -> serde_json::Result<String> {
    match name {
        "Announcement" => round_trip::<xmcp::Announcement>(text),
        "AuditRecord" => round_trip::<xmcp::AuditRecord>(text),
        "ChatEvent" => round_trip::<xmcp::ChatEvent>(text),
        "ConformanceEmit" => round_trip::<xmcp::ConformanceEmit>(text),
        "Declaration" => round_trip::<xmcp::Declaration>(text),
        "DisplayEnvelope" => round_trip::<xmcp::DisplayEnvelope>(text),
        "ErrorMeta" => round_trip::<xmcp::ErrorMeta>(text),
        "RunEvent" => round_trip::<xmcp::RunEvent>(text),
        "ServerPopulated" => round_trip::<xmcp::ServerPopulated>(text),
        "Snapshot" => round_trip::<xmcp::Snapshot>(text),
        "ToolMetadata" => round_trip::<xmcp::ToolMetadata>(text),
        "UsageRecord" => round_trip::<xmcp::UsageRecord>(text),
        _ => panic!("no type {name}"),
    }
}

fn main() {
    for line in stdin().lock().lines() {
        let line = line.expect("a line of UTF-8");
        let (name, text) = line.split_once('\t').expect("a tab");
        match read_and_write(name, text) {
            Ok(written) => println!("ok\t{written}"),
            Err(error) => println!("refused\t{error}"),
        }
    }
}
