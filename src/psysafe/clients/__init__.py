"""Who talks to the counselor: profiles as data, and the simulated client that plays one."""
