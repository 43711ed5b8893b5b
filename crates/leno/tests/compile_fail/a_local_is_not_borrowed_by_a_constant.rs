//@ says: error[E0492]
//@ says: &leno::Local::new(|| 0)
//@ errors: 1
const LOCAL: &leno::Local<u32> = &leno::Local::new(|| 0);

fn main() {
    LOCAL.with(|value| *value);
}
