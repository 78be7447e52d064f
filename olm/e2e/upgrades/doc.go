// Package upgrades has what walks of upgrades need: the routes through a catalog's graph, made-up releases that come after
// the staged ones, and the report on what upgrades did to users.
//
// Made-up releases are the release after the one under development, one that is broken, one that repairs it, and one that is
// deprecated. So the upgrade from a release is tested before that release ships. Their images are the staged ones with one
// file replaced or added, pushed beside those under tags of their own.
package upgrades
