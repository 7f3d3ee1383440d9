package org.helenus.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * On a {@code String} parameter of a test: the name of the keyspace that was made for it. Null with {@link
 * Isolation#NONE}, and with {@link Isolation#RESET} where there is a schema.
 */
@Documented
@Target(ElementType.PARAMETER)
@Retention(RetentionPolicy.RUNTIME)
public @interface Keyspace {}
