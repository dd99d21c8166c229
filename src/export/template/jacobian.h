/* The derivatives of the accelerations (the time derivatives of v) at the present state, row-major
 * [PREFIX_VELOCITIES][..], exact: by positions, of which a rotation has three (small turns about the
 * axes of the body), by velocities, and by u: inputs, then parameters. Any may be NULL. */
enum { PREFIX_POSITIONS = @positions@ };
void PREFIX_jacobian(const PREFIX_model *s, double *by_position, double *by_velocity,
                     double *by_input);
