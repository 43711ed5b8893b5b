//@ says: cannot be sent between threads safely
use leno::frame::{Co, resumable};

use std::rc::Rc;
#[derive(serde::Serialize, serde::Deserialize)]
struct Local(#[serde(skip)] Rc<u32>);
#[resumable]
async fn f(co: &mut Co<u32, u32>) -> u32 {
    let r = Local(Rc::new(5));
    let a = co.suspend(*r.0).await;
    a + *r.0
}

fn main() {}
