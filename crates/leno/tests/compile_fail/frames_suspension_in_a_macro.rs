//@ says: cannot suspend inside the arguments of a macro
use leno::frame::{Co, resumable};

#[resumable]
async fn f(co: &mut Co<u32, u32>) {
    println!("{}", co.suspend(1).await);
}

fn main() {}
