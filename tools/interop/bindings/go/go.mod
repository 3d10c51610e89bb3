module roundtrip

go 1.21
