//@ says: `Conn` cannot be stored in a coroutine frame
//@ says: wrap a resource in `Ext<T>`
//@ says: put `#[derive(serde::Serialize, serde::Deserialize)]` on it
use leno::frame::{Co, resumable};

struct Conn;
impl Conn {
    fn get(&self) -> u32 {
        1
    }
}
#[resumable]
async fn f(co: &mut Co<u32, u32>) -> u32 {
    let conn = Conn;
    let a = co.suspend(1).await;
    a + conn.get()
}

fn main() {}
