package owned

// Manager is the name under which the operator acts: field manager of its server-side applies, value of the managed-by
// label, and source of its events.
const Manager = "memcached-operator"
