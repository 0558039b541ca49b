use outbox_runtime::aggregate;

#[aggregate(root = Order, name = "order")]
pub enum Model {
    Order,
}

fn main() {}
