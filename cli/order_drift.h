/* nonholo order --drift: drift rates of the passengers' energy, predicted and measured. */
#ifndef CLI_ORDER_DRIFT_H
#define CLI_ORDER_DRIFT_H

#include "options.h"

int order_drift(const options *given);

#endif
