// Package upgrades has what tests of upgrades need: the routes through a catalog's graph, made-up releases that follow the
// staged ones, and the report on what users noticed of upgrades.
//
// Made-up releases are the release after the one under development, a broken one, one that repairs it, and a deprecated one.
// With them, upgrades from a release are tested before it ships. Their images are the staged ones with one file replaced or
// added, pushed to the same repositories under tags of their own.
package upgrades
