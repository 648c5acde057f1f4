create index leases_by_part on leases ((hashtext(key) & 1023));
