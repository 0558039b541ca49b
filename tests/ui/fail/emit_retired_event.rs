use outbox_ui_tests::reads::{ActiveModel, Bill, BillPrinted};

fn main() {
    let mut bill = Bill::new(ActiveModel { id: sea_orm::NotSet });
    bill.emit(BillPrinted {});
    bill.discard();
}
