.PHONY: apiserver tables

# A real API server for the tests, from Go modules. The tests build it themselves when it is missing.
apiserver:
	@tests/apiserver/build.sh

# The table of the fields that a Job has, from the real API server's own OpenAPI.
tables:
	cargo test --test main -- --ignored --exact tables::tests::write_the_field_table
