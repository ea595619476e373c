/* SPDX-License-Identifier: Apache-2.0
 *
 * The words and options of scenarios that are described. Generated from api/ by api/generate; do not edit.
 */

#define GENERATED_RECIPES(X) \
  X(barrier) X(config) X(counter) X(discovery) X(double_barrier) X(group) X(latch) X(names) X(partitioner)
