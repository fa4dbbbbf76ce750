include!("../../../../drivers/shims/embedded_hal/tests/first_test.rs");

#[test]
fn a_driver_of_its_own() {
    let bed = wizloop::Testbed::builder().build().unwrap();
    assert_eq!(rust_package::version(&mut bed.spi_device()).unwrap(), 4);
    assert_eq!(bed.failing(), 0, "{}", bed.report());
}
