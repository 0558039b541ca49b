use outbox_runtime::aggregate;

#[aggregate(root = Order, name = "order")]
pub fn order() {}

fn main() {}
