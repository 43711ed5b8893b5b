//@ says: another `x` shadows it there
//@ says: rename one of the two
use leno::frame::{Co, resumable};

#[resumable]
async fn f(co: &mut Co<u32, u32>) -> u32 {
    let x = co.suspend(1).await;
    {
        let x = x + 1;
        co.suspend(x).await;
        println!("{x}");
    }
    x
}

fn main() {}
