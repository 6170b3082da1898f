"""What people see: pictures, tables, pages."""
